"""From numbers to files that people read: tables, figures, the report, exports."""
