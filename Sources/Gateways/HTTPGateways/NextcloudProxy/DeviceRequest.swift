import Bytes
import ServerCrypto
import StatusCrypto
import Store

/// The common fields of `POST /devices` and `DELETE /devices` (GATEWAY_PROTOCOLS.md §2.1).
struct DeviceRequest: Sendable {
    /// The reason for a 400, for tests and the log. The response does not tell it.
    enum Fault: Error, Sendable, Equatable {
        case unreadable
        case missingField
        case deviceIdentifier
        case userPublicKey
        case pushToken
        case signature
        /// None of the operator's rules fits the app.
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

    /// Whether the user's key has signed the identifier, which is a digest and not hashed again
    /// (GATEWAY_PROTOCOLS.md §1).
    var isSigned: Bool { userKey.isValidSignature(signature, ofDigest: identifier.digest) }

    /// Returns the values of required fields. Old clients send `(null)` for missing values.
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
