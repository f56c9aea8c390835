import Bytes
package import StatusCrypto

extension RFC26 {
    /// The data has 16 MiB or more: its length does not fit into three bytes.
    package struct DataTooLong: Error, Equatable {}

    /// A decrypted RFC 26 payload: `flags(1) ‖ length(n bytes, little-endian) ‖ data ‖ padding ‖ [signature(65)]`.
    package struct Frame: Sendable, Equatable {
        /// The sender's data: an `ApplicationMetadataMessage`, or a segment of such a message.
        package let data: [UInt8]
        /// The outer signature, well-formed, or nil if the frame is unsigned. Its signer is *not* the message's sender: PROTOCOL.md §3.
        package let signature: Signature?
        /// The signed bytes, or empty without a signature.
        private let signedBytes: [UInt8]

        /// Recovers the key behind the outer signature. Each call repeats the computation.
        ///
        /// - Returns: The key, or nil if the frame is unsigned or no key can be recovered.
        package func signer() -> PublicKey? {
            signature?.recover(Keccak.keccak256(signedBytes))
        }
    }
}

extension RFC26.Frame {
    /// The low two flag bits: the number of length bytes.
    private static let lengthByteCountMask: UInt8 = 0x03
    private static let signedFlag: UInt8 = 0x04
    private static let signatureByteCount = 65
    /// The block size of padding, so that a frame's size reveals little.
    private static let paddingBlockByteCount = 256

    /// Reads a decrypted frame with any padding and any high flag bits.
    init(decoding frame: [UInt8]) throws(RFC26.OpenError) {
        guard let flags = frame.first else { throw .malformedFrame }
        let isSigned = flags & Self.signedFlag != 0
        let end = isSigned ? frame.count - Self.signatureByteCount : frame.count
        // The reference requires a byte between flags and signature.
        guard end >= (isSigned ? 2 : 1) else { throw .malformedFrame }

        let dataStart = 1 + Int(flags & Self.lengthByteCountMask)
        guard dataStart <= end else { throw .malformedFrame }
        let dataByteCount = frame[1..<dataStart].reversed().reduce(0) { $0 << 8 | Int($1) }
        guard dataByteCount <= end - dataStart else { throw .malformedFrame }
        data = Array(frame[dataStart..<dataStart + dataByteCount])

        if isSigned {
            guard let signature = Signature(frame.span.extracting(end...)), signature.isWellFormed else { throw .malformedSignature }
            self.signature = signature
            signedBytes = Array(frame[..<end])
        } else {
            signature = nil
            signedBytes = []
        }
    }

    @specialized(where Random == SecureRandom)
    static func encode<Random: RandomNumberGenerator>(
        _ data: [UInt8], signer: PrivateKey?, using random: inout Random
    ) throws(RFC26.DataTooLong) -> [UInt8] {
        try encode(data, signer: signer) { random.bytes($0) }
    }

    /// - Parameter padding: Returns the requested number of random bytes: 1 to 256.
    static func encode(
        _ data: [UInt8], signer: PrivateKey?, padding: (Int) -> [UInt8]
    ) throws(RFC26.DataTooLong) -> [UInt8] {
        let lengthByteCount =
            switch data.count {
            case ...0xFF: 1
            case ...0xFFFF: 2
            case ...0xFF_FFFF: 3
            default: throw RFC26.DataTooLong()
            }
        let signatureByteCount = signer == nil ? 0 : Self.signatureByteCount
        let unpaddedByteCount = 1 + lengthByteCount + data.count + signatureByteCount
        let paddingByteCount = paddingBlockByteCount - unpaddedByteCount % paddingBlockByteCount

        var frame: [UInt8] = []
        frame.reserveCapacity(unpaddedByteCount + paddingByteCount)
        frame.append(UInt8(lengthByteCount) | (signer == nil ? 0 : signedFlag))
        for index in 0..<lengthByteCount {
            frame.append(UInt8(truncatingIfNeeded: data.count >> (8 * index)))
        }
        frame += data
        frame += padding(paddingByteCount)
        if let signer {
            frame.append(copying: signer.sign(Keccak.keccak256(frame)).bytes.span)
        }
        return frame
    }
}
