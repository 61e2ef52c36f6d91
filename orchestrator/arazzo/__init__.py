"""Written missions: Arazzo workflows over the documents of a catalog, read, checked and run."""
