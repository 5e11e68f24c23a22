"""A result in words, as text and as HTML of the same content: content (with advice) → text, html."""
