import HTTPClient
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// The login check of the operator's backend (Decisions 9, 17).
@Suite(.safetyNet)
struct AuthenticationBackendTests {
    /// A backend that gives each request the same response.
    private struct StubBackend: Gateway {
        var response: GatewayResponse

        func answer(_ request: GatewayRequest) async -> GatewayResponse? { response }
    }

    private func session(_ response: GatewayResponse) async throws -> Result<Session?, AuthenticationBackendError> {
        var result = Result<Session?, AuthenticationBackendError>.success(nil)
        try await withGateways([StubBackend(response: response)]) { client in
            let backend = HTTPAuthenticationBackend(http: HTTPClient(), url: client.url + "/whoami")
            do throws(AuthenticationBackendError) {
                result = .success(try await backend.session(authorization: "Basic x"))
            } catch {
                result = .failure(error)
            }
        }
        return result
    }

    @Test func `only 200 is a session and only 401 is none`() async throws {
        let body = #"{"uid":"alice","tokenId":7}"#
        #expect(try await session(.json(200, body)).get() == Session(user: "alice", tokenID: 7))
        #expect(try await session(.json(401, body)).get() == nil)
    }

    @Test(arguments: [201, 204, 302, 400, 403, 404, 429, 500, 503])
    func `any other status is an error, whatever its body`(status: Int) async throws {
        let body = status == 204 ? "" : #"{"uid":"alice","tokenId":7}"#
        let result = try await session(.json(status, body))
        #expect(throws: AuthenticationBackendError.self) { try result.get() }
    }
}
