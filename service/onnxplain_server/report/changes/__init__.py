"""What has changed between two answers, and rules about it: text, Markdown, JUnit's XML."""
