/// A protobuf message of `Protos/*.proto`, read and written by hand.
///
/// Reading is total: any input gives a message or a ``WireError``. Unknown fields are skipped, of a repeated scalar the last wins. Writing
/// is canonical: fields in number order, defaults left out, byte for byte what the reference implementation writes (PROTOCOL.md §6, golden
/// vectors 06).
package protocol WireMessage: Sendable, Equatable {
    /// Creates an empty message, which encodes to no bytes.
    init()

    /// Reads fields until the reader's bytes end.
    init(reading reader: inout WireReader) throws(WireError)

    /// Writes the fields, in number order.
    func write(to writer: inout WireWriter)
}

extension WireMessage {
    /// Reads a message that fills the bytes.
    package static func decode(_ bytes: Span<UInt8>) throws(WireError) -> Self {
        var reader = WireReader(bytes, of: Self.self)
        return try Self(reading: &reader)
    }

    /// Reads a message that fills the bytes.
    package static func decode(_ bytes: [UInt8]) throws(WireError) -> Self {
        try decode(bytes.span)
    }

    /// The size of ``encoded()``.
    package var encodedByteCount: Int {
        var counter = WireWriter()
        write(to: &counter)
        return counter.byteCount
    }

    /// The message's bytes, in a single allocation.
    package func encoded() -> [UInt8] {
        WireWriter.array(byteCount: encodedByteCount) { write(to: &$0) }
    }
}
