/// Writes the protobuf wire format: fields that hold their default are left out.
///
/// A message describes its fields once, in ``WireMessage/write(to:)``, and is written twice: first by a writer that only counts,
/// then into an array of exactly that size.
@safe package struct WireWriter: ~Copyable {
    /// Bytes written, or counted.
    package private(set) var byteCount = 0
    /// The memory to write to, or nil while only counting. Valid during the writer's lifetime: `array(byteCount:_:)` creates both.
    ///
    /// Appending to an array byte by byte is slower than swift-protobuf: each append checks whether the array is shared and large enough.
    private let target: UnsafeMutableBufferPointer<UInt8>?

    /// Creates a writer that only counts.
    package init() {
        unsafe target = nil
    }

    private init(target: UnsafeMutableBufferPointer<UInt8>) {
        unsafe self.target = target
    }

    /// Returns the bytes that the body writes.
    ///
    /// - Parameter byteCount: The number of bytes, as counted before. Writing more ends the process.
    static func array(byteCount: Int, _ body: (inout WireWriter) -> Void) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initializedCount in
            var writer = unsafe WireWriter(target: buffer)
            body(&writer)
            initializedCount = writer.byteCount
        }
    }
}

// MARK: - Fields

extension WireWriter {
    /// `uint64`.
    @inline(__always)
    package mutating func write(_ value: UInt64, _ number: UInt32) {
        if value != 0 { writeVarint(value, number) }
    }

    /// `uint32`.
    @inline(__always)
    package mutating func write(_ value: UInt32, _ number: UInt32) {
        write(UInt64(value), number)
    }

    /// `int32` and enumerations: extended to 64 bits, so that a negative number takes ten bytes.
    @inline(__always)
    package mutating func write(_ value: Int32, _ number: UInt32) {
        write(UInt64(bitPattern: Int64(value)), number)
    }

    /// `bool`.
    @inline(__always)
    package mutating func write(_ value: Bool, _ number: UInt32) {
        write(value ? 1 as UInt64 : 0, number)
    }

    /// `optional sint64`: zigzag, written when it is set, even to 0.
    package mutating func write(zigzag value: Int64?, _ number: UInt32) {
        if let value { writeVarint(UInt64(bitPattern: value << 1 ^ value >> 63), number) }
    }

    /// `string`.
    package mutating func write(_ value: String, _ number: UInt32) {
        guard !value.isEmpty else { return }
        writeEntry(value.utf8Span.span, number)
    }

    /// `bytes`.
    package mutating func write(_ value: [UInt8], _ number: UInt32) {
        if !value.isEmpty { writeEntry(value.span, number) }
    }

    /// `repeated bytes`: an empty entry is an entry.
    package mutating func write(_ list: [[UInt8]], _ number: UInt32) {
        for value in list { writeEntry(value.span, number) }
    }

    /// A repeated message.
    package mutating func write<Message: WireMessage>(_ list: [Message], _ number: UInt32) {
        for message in list {
            writeLength(message.encodedByteCount, number)
            message.write(to: &self)
        }
    }
}

// MARK: - Bytes

extension WireWriter {
    @inline(__always)
    private mutating func writeVarint(_ value: UInt64, _ number: UInt32) {
        append(varint: UInt64(number << 3 | 0))
        append(varint: value)
    }

    @inline(__always)
    private mutating func writeEntry(_ value: Span<UInt8>, _ number: UInt32) {
        writeLength(value.count, number)
        append(value)
    }

    /// Tag and length of a length-delimited field.
    @inline(__always)
    private mutating func writeLength(_ byteCount: Int, _ number: UInt32) {
        append(varint: UInt64(number << 3 | 2))
        append(varint: UInt64(byteCount))
    }

    /// Seven bits a byte, lowest first, the top bit meaning that more follow.
    @inline(__always)
    private mutating func append(varint value: UInt64) {
        let count = (64 - (value | 1).leadingZeroBitCount + 6) / 7
        if let target = unsafe target {
            precondition(count <= target.count - byteCount)
            var rest = value
            for index in byteCount..<byteCount + count - 1 {
                unsafe target[index] = UInt8(truncatingIfNeeded: rest) | 0x80
                rest >>= 7
            }
            unsafe target[byteCount + count - 1] = UInt8(truncatingIfNeeded: rest)
        }
        byteCount += count
    }

    @inline(__always)
    private mutating func append(_ value: Span<UInt8>) {
        if let target = unsafe target {
            precondition(value.count <= target.count - byteCount)
            unsafe value.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(target)[byteCount...]).copyMemory(from: source)
            }
        }
        byteCount += value.count
    }
}
