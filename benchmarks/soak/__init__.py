"""`make soak`: the program under load for as long as one likes, by a host with very many agents."""
