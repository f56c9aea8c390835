import Concurrency
import Dispatch
import Foundation
import Synchronization

/// The threads of all clients. They end before the process, because exit(3) tears down libraries that they may be using.
enum TransferThreads {
    /// The maximum wait of exit(3) for the threads: one may be waiting for a name server.
    private static let patience = DispatchTimeInterval.seconds(1)

    private static let mailboxes = Mutex<[ObjectIdentifier: CommandQueue]>([:])
    private static let running = DispatchGroup()
    /// Whether the exit handler is registered: after libcurl's initialisation, so that it runs before the handlers of libcurl's libraries.
    private static let endAtExit = TransferLoop.isInitialized && atexit { TransferThreads.end() } == 0

    static func start(commands: CommandQueue, configuration: HTTPClient.Configuration) {
        _ = endAtExit
        running.enter()
        mailboxes.withLock { $0[ObjectIdentifier(commands)] = commands }
        NamedThread.start("HTTPClient") {
            TransferLoop.run(commands: commands, configuration: configuration)
            mailboxes.withLock { $0[ObjectIdentifier(commands)] = nil }
            running.leave()
        }
    }

    private static func end() {
        for commands in mailboxes.withLock({ Array($0.values) }) { commands.post(.stop) }
        _ = running.wait(timeout: .now() + patience)
    }
}
