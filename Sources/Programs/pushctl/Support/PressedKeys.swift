import Dispatch
import Foundation

/// The keys that are pressed at the terminal, each immediately and without an echo, as long as the value exists.
final class PressedKeys {
    let stream: AsyncStream<UInt8>
    private let source: any DispatchSourceRead
    private let earlier: termios

    /// Changes the terminal's mode. Returns nil if standard input is not a terminal.
    init?() {
        var mode = termios()
        guard isatty(STDIN_FILENO) == 1, unsafe tcgetattr(STDIN_FILENO, &mode) == 0 else { return nil }
        earlier = mode
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
        guard unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0 else { return nil }
        let (stream, continuation) = AsyncStream.makeStream(of: UInt8.self)
        self.stream = stream
        source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO)
        source.setEventHandler {
            var key: UInt8 = 0
            guard unsafe read(STDIN_FILENO, &key, 1) == 1 else { return continuation.finish() }
            continuation.yield(key)
        }
        source.resume()
    }

    deinit {
        source.cancel()
        var earlier = earlier
        unsafe tcsetattr(STDIN_FILENO, TCSANOW, &earlier)
    }
}
