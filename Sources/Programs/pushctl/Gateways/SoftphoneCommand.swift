import ArgumentParser
import Bytes
import Foundation
import HTTPClient
import JSON
import Operator

/// Acts as a SIP server with Cloud Softphone's interface (GATEWAY_PROTOCOLS.md §5).
struct SoftphoneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "softphone", abstract: "Act as a SIP server towards the Cloud Softphone gateway.", subcommands: [SoftphoneSend.self])
}

private struct SoftphoneSend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "send", abstract: "Notify a phone and print the result.")

    enum Verb: String, CaseIterable, ExpressibleByArgument {
        case textMessage = "NotifyTextMessage"
        case genericTextMessage = "NotifyGenericTextMessage"
        case reprovision = "NotifyReprovision"
    }

    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("The app, as in gateways.softphone.apps.", valueName: "id"))
    var appId: String

    @Option(help: ArgumentHelp("The device token from Apple or Google: hex or base64.", valueName: "token"))
    var deviceToken: String

    @Option(help: "The kind of event.")
    var verb = Verb.textMessage

    @Option(help: ArgumentHelp("The account on the phone.", valueName: "text"))
    var selector = "pushctl"

    @Option(help: ArgumentHelp("The text to show.", valueName: "text"))
    var message: String?

    func run() async throws {
        let push = Push(verb: verb.rawValue, AppId: appId, DeviceToken: deviceToken, Selector: selector, Message: message)
        let body = String(decoding: try JSONEncoder().encode(push), as: UTF8.self)
        let answer = try await gateway.send(.post, "/pnm2/send", ("application/json", body))
        guard answer.status == 200, let result = try? JSON.decode(Answer.self, from: Array(answer.body.utf8)) else {
            throw Failure.failed("The gateway rejected the request: \(answer.status) \(PeerText(answer.body))")
        }
        try output.print(result) { ["\(result.code)  \(result.response)"] }
        guard result.code == 200 else { throw Failure.failed("The push was not delivered.") }
    }

    /// The request. The property names are the same as on the wire.
    private struct Push: Encodable {
        let verb, AppId, DeviceToken, Selector: String
        let Message: String?
    }

    private struct Answer: Codable {
        let code: Int
        let response: String
    }
}
