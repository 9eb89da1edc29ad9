"""Tables and views of databases, read through ADBC drivers."""
