import ArgumentParser
import Foundation
import Operator
import PushClient
import PushClientFileState

/// The option that names the client's state file.
struct StateOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file with versions and access tokens of earlier runs (else PUSHCTL_STATE; to register, else that of the key with .state).",
            valueName: "file"))
    var state: String?

    /// Opens the named file, or the file next to the key file. With a key from the environment the state is in memory only.
    func open(beside key: KeyOptions) throws(Failure) -> any ClientState {
        if let setting = Setting(state, option: "--state", variable: "PUSHCTL_STATE") { return try open(setting.text) }
        guard let keyPath = key.filePath else { return try open(nil) }
        // The key file, which the caller creates last, may be the first file in its folder.
        let folder = URL(filePath: keyPath).deletingLastPathComponent()
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return try open(keyPath + ".state")
    }

    /// Opens the state file if it is named.
    func openIfNamed() throws(Failure) -> any ClientState {
        try open(Setting(state, option: "--state", variable: "PUSHCTL_STATE")?.text)
    }

    private func open(_ path: String?) throws(Failure) -> any ClientState {
        do {
            guard let path else { return MemoryState() }
            return try FileState(path: path)
        } catch {
            throw .configuration("\(error) Name another with --state or PUSHCTL_STATE.")
        }
    }
}
