import ArgumentParser
import Operator
import PushClient

/// Where what servers were told is remembered, from one run to the next.
struct StateOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Keeps what is known from one run to the next (else PUSHCTL_STATE; to register, else the key file's name with .state).",
            valueName: "file"))
    var state: String?

    /// Opens the file that is named, or else the one beside the key file. A key that comes from the environment has none: then nothing is
    /// kept.
    func open(beside key: KeyOptions) throws(Failure) -> ClientState {
        try open(Setting(state, option: "--state", variable: "PUSHCTL_STATE")?.text ?? key.filePath.map { $0 + ".state" })
    }

    /// Opens the file if one is named.
    func openIfNamed() throws(Failure) -> ClientState {
        try open(Setting(state, option: "--state", variable: "PUSHCTL_STATE")?.text)
    }

    private func open(_ path: String?) throws(Failure) -> ClientState {
        do {
            return if let path { try ClientState(path: path) } else { try .inMemory() }
        } catch {
            throw .configuration("\(path ?? ""): \(error.description) Name another with --state or PUSHCTL_STATE.")
        }
    }
}
