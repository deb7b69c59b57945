"""What one call of the function shows, and which rules that breaks."""
