"""From the design to trials on file: engines, methods, chunks, and where they are computed."""
