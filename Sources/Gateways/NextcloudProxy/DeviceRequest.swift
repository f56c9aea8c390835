import GatewayHTTP
import StatusCrypto
import Store

/// What `POST /devices` and `DELETE /devices` have in common (GATEWAY_PROTOCOLS.md §2.1).
struct DeviceRequest: Sendable {
    /// Why a request is answered 400: for tests and the log, nobody else is told.
    enum Fault: Error, Sendable, Equatable {
        case unreadable
        case missingField
        case deviceIdentifier
        case userPublicKey
        case pushToken
        case signature
        /// No rule of the operator's fits.
        case app
    }

    var identifier: DeviceIdentifier
    var signature: [UInt8]
    var userKey: RSAPublicKey

    static let names: Set = ["deviceIdentifier", "deviceIdentifierSignature", "userPublicKey"]

    init(_ fields: RequestFields) throws(Fault) {
        let texts = try DeviceRequest.values(fields, Self.names)
        guard let identifier = DeviceIdentifier(texts["deviceIdentifier"] ?? "") else { throw .deviceIdentifier }
        guard let userKey = RSAPublicKey(pem: texts["userPublicKey"] ?? "") else { throw .userPublicKey }
        self.identifier = identifier
        self.userKey = userKey
        signature = base64(texts["deviceIdentifierSignature"] ?? "") ?? []
    }

    /// Whether the user's key has signed the identifier. The identifier is itself a digest: it is not hashed again
    /// (GATEWAY_PROTOCOLS.md §1).
    var isSigned: Bool { userKey.isValidSignature(signature, ofDigest: identifier.digest) }

    /// Old clients send `(null)` for what they do not have.
    static func values(_ fields: RequestFields, _ names: Set<String>) throws(Fault) -> [String: String] {
        var values: [String: String] = [:]
        for name in names {
            guard let value = fields[name], !value.isEmpty, value != "(null)" else { throw .missingField }
            values[name] = value
        }
        return values
    }

    static func read(_ request: GatewayRequest, body: [UInt8], names: Set<String>) throws(Fault) -> RequestFields {
        do {
            return try RequestFields(query: request.query, contentType: request.contentType, body: body, names: names)
        } catch {
            throw .unreadable
        }
    }
}
