import Bytes
import Foundation
import Mustache
import StatusCrypto

/// The status page: a snapshot as HTML, without scripts.
package struct StatusPage: Sendable {
    /// The policy under which a browser shows the page: its own style and no other resource.
    package static let contentSecurityPolicy =
        "default-src 'none'; style-src 'sha256-\(Data(SHA256.hash(Array(style.utf8)).bytes).base64EncodedString())'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    private let template: MustacheTemplate

    package init() throws {
        template = try MustacheTemplate(string: Self.template)
    }

    package func html(_ snapshot: StatusSnapshot) -> String {
        template.render(StatusPageContent(snapshot))
    }
}
