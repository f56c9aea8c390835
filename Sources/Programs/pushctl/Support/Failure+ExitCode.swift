import ArgumentParser
import Operator

extension Failure {
    /// The exit code: EX_USAGE, EX_UNAVAILABLE, EX_TEMPFAIL or EX_CONFIG of sysexits.h, else 1.
    var exitCode: ExitCode {
        switch kind {
        case .failed: .failure
        case .usage: ExitCode(64)
        case .unavailable: ExitCode(69)
        case .temporary: ExitCode(75)
        case .configuration: ExitCode(78)
        }
    }
}
