package import Wire

extension SQLRow {
    /// Reads the next column as a sealed value, or nil for NULL.
    package mutating func next(_ sealing: RowSealing, in place: @autoclosure () -> SealedPlace) throws -> [UInt8]? {
        try sealing.value(next(), in: place())
    }

    /// Reads the next column as a protobuf message; NULL gives an empty message.
    package mutating func nextMessage<Message: WireMessage>() throws -> Message { try Self.message(next()) }

    /// Reads the next column as a sealed protobuf message; NULL gives an empty message.
    package mutating func nextMessage<Message: WireMessage>(
        _ sealing: RowSealing, in place: @autoclosure () -> SealedPlace
    ) throws -> Message {
        try Self.message(next(sealing, in: place()))
    }

    private static func message<Message: WireMessage>(_ bytes: [UInt8]?) throws -> Message {
        guard let bytes else { return Message() }
        do throws(WireError) { return try Message.decode(bytes) } catch { throw StoreError.damaged }
    }
}
