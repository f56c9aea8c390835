import Bytes
import CLibCrypto
import StatusCrypto

extension RSAPublicKey {
    /// Reads a key that a key's ``der`` wrote, and that was checked then.
    ///
    /// libcrypto's own reader tests all kinds of keys, which takes twenty times as long as creating a key from its two numbers. A batch
    /// names thousands of devices, so this reader finds the numbers itself.
    ///
    /// - Returns: The key, or nil for any other bytes.
    package init?(stored der: [UInt8]) {
        var reader = DERReader(der[...])
        // RFC 5280 §4.1: SEQUENCE { AlgorithmIdentifier, BIT STRING { RSAPublicKey } }. RFC 8017 §A.1.1: SEQUENCE { n, e }.
        guard var key = reader.read(.sequence), reader.isAtEnd, key.read(.sequence)?.bytes.elementsEqual(Self.algorithm) == true,
            var bits = key.read(.bitString), key.isAtEnd, bits.readByte() == 0, var numbers = bits.read(.sequence), bits.isAtEnd,
            let modulus = numbers.read(.integer), let exponent = numbers.read(.integer), numbers.isAtEnd,
            let handle = RSAKeyHandle(modulus: Array(modulus.bytes), exponent: Array(exponent.bytes))
        else { return nil }
        self.init(handle, der: der)
    }

    /// The object identifier of rsaEncryption, and NULL.
    private static let algorithm: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00]
}

/// Nested values of DER (X.690 §8.1).
private struct DERReader {
    enum Tag: UInt8 {
        case integer = 0x02
        case bitString = 0x03
        case sequence = 0x30
    }

    private(set) var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { bytes.isEmpty }

    mutating func readByte() -> UInt8? { bytes.popFirst() }

    /// - Returns: The value, or nil if the next value has another tag. Reading cannot continue after nil.
    mutating func read(_ tag: Tag) -> DERReader? {
        guard readByte() == tag.rawValue, let count = readLength(), count <= bytes.count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return DERReader(bytes.prefix(count))
    }

    private mutating func readLength() -> Int? {
        guard let first = readByte() else { return nil }
        guard first & 0x80 != 0 else { return Int(first) }
        // Two length bytes suffice for 64 KiB.
        guard (1...2).contains(first & 0x7F) else { return nil }
        var length = 0
        for _ in 0..<(first & 0x7F) {
            guard let byte = readByte() else { return nil }
            length = length << 8 | Int(byte)
        }
        return length
    }
}

extension RSAKeyHandle {
    /// - Returns: Nil for numbers that libcrypto rejects.
    fileprivate convenience init?(modulus: [UInt8], exponent: [UInt8]) {
        defer { ERR_clear_error() }
        let (n, e) = unsafe (
            BN_bin2bn(modulus, Int32(modulus.count), nil), BN_bin2bn(exponent, Int32(exponent.count), nil)
        )
        let builder = unsafe OSSL_PARAM_BLD_new()
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer {
            unsafe BN_free(n)
            unsafe BN_free(e)
            unsafe OSSL_PARAM_BLD_free(builder)
            unsafe EVP_PKEY_CTX_free(context)
        }
        guard unsafe OSSL_PARAM_BLD_push_BN(builder, Self.name("n"), n) == 1,
            unsafe OSSL_PARAM_BLD_push_BN(builder, Self.name("e"), e) == 1,
            let parameters = unsafe OSSL_PARAM_BLD_to_param(builder)
        else { return nil }
        defer { unsafe OSSL_PARAM_free(parameters) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_fromdata_init(context) == 1,
            unsafe EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY_selection, parameters) == 1,
            let key = unsafe key
        else { return nil }
        unsafe self.init(owning: key)
    }

    /// A number's name (OSSL_PKEY_PARAM_RSA_N and _E), which libcrypto does not copy.
    private static func name(_ name: StaticString) -> UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
