"""How requests arrive and answers leave: gRPC and REST. A method is decode, call, encode."""
