"""One command each; `main` holds the application."""
