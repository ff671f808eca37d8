"""What tests share: ways to run the program, recorded cases, schemas, session roots, small logs."""
