"""What a person sees: pictures, pages, tables."""
