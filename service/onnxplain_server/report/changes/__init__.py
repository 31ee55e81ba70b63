"""Reports of what has changed between two answers, and of rules: text, Markdown, JUnit's XML."""
