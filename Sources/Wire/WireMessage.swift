/// A protobuf message of `Protos/*.proto`, read and written by hand.
///
/// Reading is total: any input gives a message or a `WireError`. Unknown fields are skipped, of a repeated scalar the last one wins.
/// Writing is canonical: fields in number order, defaults left out, byte for byte what the reference implementation writes
/// (PROTOCOL.md §6, golden vectors 06).
package protocol WireMessage: Sendable, Equatable {
    init()
}
