"""What a run leaves for others: its best programs as files, and the card of its merged model."""
