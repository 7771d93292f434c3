"""What an error says about a name that is called otherwise here."""
