/// Reads the protobuf wire format from bytes that it borrows.
///
/// Total: on any input each call gives a value or a ``WireError``, and moves forward or throws. It accepts what Go's protobuf accepts in
/// the reference implementation (golden vectors 06), up to ``maximumEntryCount`` entries.
package struct WireReader: ~Escapable {
    /// For each repeated field. An empty entry is 2 bytes of input but 8 to 72 bytes of memory, 1.4 MB at most in total. A message of 1 MiB
    /// contains fewer useful entries, which have 60 bytes and more.
    package static let maximumEntryCount = 20_000

    /// The maximum nesting of unknown groups, as in the reference implementation (protobuf-go's `DefaultRecursionLimit` of 10,000, counted
    /// down to 0). No message of `Protos/` has a group.
    package static let maximumGroupDepth = 10_001

    private let bytes: Span<UInt8>
    private let message: any WireMessage.Type
    /// The offset of the bytes in the whole input.
    private let offset: Int
    private var position = 0
    private var fieldPosition = 0
    private var fieldNumber: UInt64 = 0

    /// - Parameters:
    ///   - message: The message type that errors name.
    ///   - offset: The offset of the bytes in the whole input.
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>, of message: any WireMessage.Type, at offset: Int = 0) {
        self.bytes = bytes
        self.message = message
        self.offset = offset
    }

    /// Returns the next field's tag, or nil at the end. The caller then reads the value, or skips it with ``skip(_:)``.
    @inline(__always)
    package mutating func nextField() throws(WireError) -> WireField? {
        guard position < bytes.count else { return nil }
        (fieldPosition, fieldNumber) = (position, 0)
        let tag = try readVarint()
        fieldNumber = tag >> 3
        guard let field = WireField(tag: tag) else { throw error(.invalidTag) }
        return field
    }

    /// Returns an error about the current field.
    @inline(never)
    private func error(_ reason: WireError.Reason) -> WireError {
        WireError(reason: reason, message: message, field: fieldNumber, offset: offset + fieldPosition)
    }
}

// MARK: - Values

extension WireReader {
    /// `uint64`. At most ten bytes, longer forms than needed are fine.
    @inline(__always)
    package mutating func readVarint() throws(WireError) -> UInt64 {
        let byte = try readByte()
        return byte < 0x80 ? UInt64(byte) : try readVarint(after: byte)
    }

    /// `uint32`: the low 32 bits of the varint.
    package mutating func readUInt32() throws(WireError) -> UInt32 {
        UInt32(truncatingIfNeeded: try readVarint())
    }

    /// `int32` and enumerations: the low 32 bits of the varint. Negative numbers come with ten bytes.
    package mutating func readInt32() throws(WireError) -> Int32 {
        Int32(truncatingIfNeeded: try readVarint())
    }

    /// `sint64`: zigzag, 0, −1, 1, −2 … for 0, 1, 2, 3 ….
    package mutating func readSInt64() throws(WireError) -> Int64 {
        let zigzag = try readVarint()
        return Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1)
    }

    /// `bool`: any number but 0 is true.
    package mutating func readBool() throws(WireError) -> Bool {
        try readVarint() != 0
    }

    /// `bytes`, copied out.
    package mutating func readBytes() throws(WireError) -> [UInt8] {
        let value = try readSpan()
        // One memcpy. The pointer does not leave the closure.
        return unsafe value.withUnsafeBufferPointer { unsafe [UInt8]($0) }
    }

    /// `string`: UTF-8, checked.
    package mutating func readString() throws(WireError) -> String {
        let value = try readSpan()
        do {
            return String(copying: try UTF8Span(validating: value))
        } catch {
            throw self.error(.invalidUTF8)
        }
    }

    /// `bytes`, borrowed.
    @_lifetime(copy self)
    package mutating func readSpan() throws(WireError) -> Span<UInt8> {
        let count = try readVarint()
        guard count <= UInt64(bytes.count - position) else { throw error(.truncated) }
        let start = position
        position += Int(count)
        return bytes.extracting(start..<position)
    }

    /// One entry of `repeated bytes`.
    package mutating func readBytes(appendingTo list: inout [[UInt8]]) throws(WireError) {
        guard list.count < WireReader.maximumEntryCount else { throw error(.tooManyEntries) }
        list.append(try readBytes())
    }

    /// An entry in a repeated message field.
    package mutating func readMessage<Message: WireMessage>(appendingTo list: inout [Message]) throws(WireError) {
        guard list.count < WireReader.maximumEntryCount else { throw error(.tooManyEntries) }
        let nestedBytes = try readSpan()
        var nested = WireReader(nestedBytes, of: Message.self, at: offset + position - nestedBytes.count)
        list.append(try Message(reading: &nested))
    }
}

// MARK: - Unknown fields

extension WireReader {
    /// Skips an unknown field's value.
    package mutating func skip(_ field: WireField) throws(WireError) {
        switch field {
        case .varint: _ = try readVarint()
        case .fixed64: try advance(by: 8)
        case .bytes: _ = try readSpan()
        case .fixed32: try advance(by: 4)
        case .startGroup(let number): try skipGroup(number)
        case .endGroup: throw error(.unbalancedGroup)
        }
    }

    /// Iterative, so that a peer's nesting does not deepen the stack.
    private mutating func skipGroup(_ number: UInt32) throws(WireError) {
        var open = [number]
        while let innermost = open.last {
            switch try nextField() {
            case .startGroup(let number):
                guard open.count < WireReader.maximumGroupDepth else { throw error(.groupsTooDeep) }
                open.append(number)
            case .endGroup(let number):
                guard number == innermost else { throw error(.unbalancedGroup) }
                open.removeLast()
            case .some(let field):
                try skip(field)
            case nil:
                throw error(.unbalancedGroup)
            }
        }
    }
}

// MARK: - Bytes

extension WireReader {
    @inline(__always)
    private mutating func readByte() throws(WireError) -> UInt8 {
        guard position < bytes.count else { throw error(.truncated) }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func advance(by count: Int) throws(WireError) {
        guard count <= bytes.count - position else { throw error(.truncated) }
        position += count
    }

    /// Reads the rest of a varint: seven bits per byte, lowest first. The tenth byte contributes a single bit.
    private mutating func readVarint(after first: UInt8) throws(WireError) -> UInt64 {
        var value = UInt64(first & 0x7F)
        var shift: UInt64 = 7
        while true {
            let byte = try readByte()
            guard shift < 63 || byte <= 1 else { throw error(.varintOverflow) }
            value |= UInt64(byte & 0x7F) << shift
            guard byte >= 0x80 else { return value }
            shift += 7
        }
    }
}
