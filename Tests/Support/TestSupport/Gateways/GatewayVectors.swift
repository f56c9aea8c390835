import Bytes
package import ServerCrypto
import StatusCrypto

/// The output of PHP and of the reference's own code for fixed keys: `11_gateways.json`.
package struct GatewayVectors: Decodable, Sendable {
    package struct Key: Decodable, Sendable {
        package var private_pkcs8_pem: String
        package var public_spki_pem: String
        package var public_spki_der_base64: Base64Bytes
    }

    package struct Token: Decodable, Sendable {
        package var pushToken: String
        package var pushTokenHash: String
    }

    /// An app password of an account, and the device that uses it.
    package struct Session: Decodable, Sendable {
        package var cloudId: String
        package var tokenId: Int
        package var preimage_json: String
        package var deviceIdentifier: String
        package var signature: Base64Bytes
        package var userKey: String
        package var deviceKey: String
        package var token: String
        package var apptype: String?
        package var userAgent: String?
    }

    package struct Notification: Decodable, Sendable {
        package struct Entry: Decodable, Sendable {
            package var deviceIdentifier: String
            package var pushTokenHash: String
            package var subject: Base64Bytes
            package var signature: Base64Bytes
            package var priority: String
            package var type: String
        }

        package var session: String
        package var padding: String
        package var plaintext_json: String
        package var entry: Entry
        package var entry_json_string: String
    }

    package struct Truncation: Decodable, Sendable {
        package var name: String
        package var maxLength: Int
        package var parsedSubject: String
        package var app: String
        package var type: String
        package var id: String
        package var nid: Int64
        package var json: String
    }

    package struct Batch: Decodable, Sendable {
        package var content_type: String
        package var entries: [String]
        package var body: String
    }

    package struct SoftphoneCase: Decodable, Sendable {
        package var name: String
        package var method: String
        package var path: String
        package var content_type: String
        package var body: String
        package var expect_http: Int
        package var expect_json: JSONValue?
        package var expect_gorush_notifications: [[String: JSONValue]]?
    }

    package struct Softphone: Decodable, Sendable {
        package var cases: [SoftphoneCase]
    }

    package var keys: [String: Key]
    package var tokens: [String: Token]
    package var sessions: [String: Session]
    package var registration_requests: [String: [String: String]]
    package var notifications: [String: Notification]
    package var truncation: [Truncation]
    package var batch: Batch
    package var negatives: [String: JSONValue]
    package var gorush_expected: [String: JSONValue]
    package var pnm: Softphone
    package var identity_proof: [String: JSONValue]

    package static let all: GatewayVectors = {
        do {
            return try Vectors.load("11_gateways")
        } catch {
            fatalError("11_gateways.json: \(error)")
        }
    }()

    /// Returns the value with that name.
    package static func key(_ name: String) -> Key { found(all.keys[name], name) }
    package static func token(_ name: String) -> Token { found(all.tokens[name], name) }
    package static func session(_ name: String) -> Session { found(all.sessions[name], name) }
    package static func notification(_ name: String) -> Notification { found(all.notifications[name], name) }
    package static func request(_ session: String, _ name: String) -> String { found(all.registration_requests[session]?[name], name) }

    package static func publicKey(_ name: String) -> RSAPublicKey {
        found(RSAPublicKey(pem: key(name).public_spki_pem), name)
    }

    package static func privateKey(_ name: String) -> RSAPrivateKey {
        found(RSAPrivateKey(pem: key(name).private_pkcs8_pem), name)
    }

    private static func found<Value>(_ value: Value?, _ name: String) -> Value {
        guard let value else { fatalError("11_gateways.json has no \(name)") }
        return value
    }
}
