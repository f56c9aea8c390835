import Bytes
package import Envelope
package import HTTPClient

/// A request's user and app password, as the operator's backend reports them.
package struct Session: Sendable, Equatable {
    package var user: String
    /// The app password's number, or nil for the account's own password.
    package var tokenID: Int64?
    package var lastSeen: Timestamp?

    package init(user: String, tokenID: Int64?, lastSeen: Timestamp? = nil) {
        self.user = user
        self.tokenID = tokenID
        self.lastSeen = lastSeen
    }
}

/// The operator's backend, which authenticates users.
package protocol AuthenticationBackend: Sendable {
    /// Authenticates a client.
    ///
    /// - Parameter authorization: The client's `Authorization` header.
    /// - Returns: The session, or nil if the backend rejects the header.
    /// - Throws: `AuthenticationBackendError`.
    func session(authorization: String) async throws(AuthenticationBackendError) -> Session?
}

/// The backend did not respond, or its response could not be read.
package struct AuthenticationBackendError: Error, Sendable {
    package init() {}
}

/// A backend over HTTP (Decisions 9, 17): `GET` with the client's header. 200 `{"uid":"alice","tokenId":7,"lastSeen":1700000000}`, else
/// 401.
package struct HTTPAuthenticationBackend: AuthenticationBackend, HoldsSecret {
    private static let timeout = Duration.seconds(10)
    private static let maximumResponseByteCount = 64 << 10
    /// How long a user id may be. Nextcloud's own maximum is 64 characters.
    private static let maximumUserByteCount = 255

    private let http: HTTPClient
    private let url: String

    package init(http: HTTPClient, url: String) {
        self.http = http
        self.url = url
    }

    package func session(authorization: String) async throws(AuthenticationBackendError) -> Session? {
        let request = HTTPRequest(
            method: .get, url: url, headers: [("Authorization", authorization), ("Accept", "application/json")], timeout: Self.timeout,
            maximumResponseBodyByteCount: Self.maximumResponseByteCount)
        guard let response = try? await http.send(request) else { throw AuthenticationBackendError() }
        if response.status == 401 { return nil }
        guard response.status == 200, let session = Self.session(in: response.body) else { throw AuthenticationBackendError() }
        return session
    }

    static func session(in body: [UInt8]) -> Session? {
        guard let fields = JSONFields(body), let user = fields.string("uid"), (1...maximumUserByteCount).contains(user.utf8.count) else {
            return nil
        }
        var session = Session(user: user, tokenID: nil)
        switch fields["tokenId"] {
        case .null: break
        case .number(let text):
            guard let number = Int64(text) else { return nil }
            session.tokenID = number
        default: return nil
        }
        switch fields["lastSeen"] {
        case nil, .null: break
        case .number(let text):
            guard let seconds = Int64(text) else { return nil }
            session.lastSeen = Timestamp(nanoseconds: 0).advanced(by: .seconds(seconds))
        default: return nil
        }
        return session
    }
}
