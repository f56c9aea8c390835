import Bytes
import StatusCrypto
import Wire

/// Finds out which mistake makes a grant wrong, by trying the inputs that authors of clients have signed by mistake.
struct GrantDiagnosis {
    let client: PublicKey
    let server: PublicKey
    let accessToken: AccessToken
    /// The token in the installation's last registration, if any.
    let earlierToken: AccessToken?

    private static let right =
        "expected a signature of keccak256(compressed key of the client, compressed key of the server, access token)"

    /// - Returns: A sentence about the mistake, without any secret, or nil if the grant is right.
    func mistake(in grant: [UInt8]) -> String? {
        guard !grant.isEmpty else { return "is empty; \(Self.right)" }
        guard grant.count == 65 else { return "has \(grant.count) bytes, expected 65: R, S and V" }
        var bytes = grant
        let v = grant[64]
        if [27, 28].contains(v) { bytes[64] = v - 27 }
        guard let signature = Signature(bytes) else { return "has V \(v), expected 0 or 1" }
        if signature.isBy(client, Grant.digest(client: client, server: server, accessToken: accessToken)) {
            return bytes == grant ? nil : "has V \(v); with V \(v - 27) it would be right"
        }
        for (name, digest) in mistakes where signature.isBy(client, digest) { return "is over \(name); \(Self.right)" }
        return "is not a signature of the client over any expected input; \(Self.right)"
    }

    /// Inputs with a single mistake each, hashed.
    private var mistakes: [(name: String, digest: Digest32)] {
        let (c, s) = (client.compressed.bytes, server.compressed.bytes)
        let (longC, longS) = (client.uncompressed.bytes, server.uncompressed.bytes)
        let token = Array(accessToken.text.utf8)
        let right = c + s + token
        let inputs: [(String, [UInt8])] = [
            ("the client's uncompressed key", longC + s + token), ("the server's uncompressed key", c + longS + token),
            ("uncompressed keys", longC + longS + token),
            ("uncompressed keys without their first byte", longC.dropFirst() + longS.dropFirst() + token),
            ("the keys in the other order", s + c + token), ("the access token first", token + c + s), ("the keys alone", c + s),
            ("the client's key and the access token alone", c + token),
            ("the access token in lower case", c + s + Array(accessToken.text.lowercased().utf8)),
            ("the access token in capitals", c + s + Array(accessToken.text.uppercased().utf8)),
            ("the 16 bytes of the access token", c + s + (Hex.decode(accessToken.text.filter { $0 != "-" }) ?? [])),
            ("the keys as hex text", Array((Hex.encode(c) + Hex.encode(s)).utf8) + token),
            ("the earlier access token", earlierToken.map { c + s + Array($0.text.utf8) } ?? []),
        ]
        return inputs.map { ($0, Keccak.keccak256($1)) } + [
            ("the right input, hashed with SHA-256", SHA256.hash(right)),
            ("the right input, hashed twice", Keccak.keccak256(Keccak.keccak256(right).bytes)),
            (
                "the right input with Ethereum's prefix of personal messages",
                Keccak.keccak256(Array("\u{19}Ethereum Signed Message:\n32".utf8) + Keccak.keccak256(right).bytes)
            ),
        ]
    }
}
