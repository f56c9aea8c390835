import Bytes
import Foundation
import Mustache
import StatusCrypto
import StatusReport

/// The status page: a snapshot as HTML, without scripts.
struct StatusPage: Sendable {
    /// The policy under which a browser shows the page: its own style and no other resource.
    static let contentSecurityPolicy =
        "default-src 'none'; style-src 'sha256-\(Data(SHA256.hash(Array(style.utf8)).bytes).base64EncodedString())'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    private let template: MustacheTemplate

    init() throws {
        template = try MustacheTemplate(string: Self.template)
    }

    func html(_ snapshot: StatusSnapshot) -> String {
        template.render(StatusPageContent(snapshot))
    }
}
