import Foundation
import Operator

/// A value from the command line, or else from the environment.
struct Setting {
    let text: String
    private let origin: Origin

    private enum Origin {
        case option(String)
        case variable(String)
    }

    /// Creates the setting from an option or an environment variable, or nil if neither is set.
    ///
    /// - Parameters:
    ///   - value: The option's value, or nil if it was not given.
    ///   - option: The option's name, with the dashes.
    ///   - variable: The environment variable's name. An empty value counts as not set.
    init?(_ value: String?, option: String, variable: String) {
        if let value {
            text = value
            origin = .option(option)
        } else if let value = ProcessInfo.processInfo.environment[variable], !value.isEmpty {
            text = value
            origin = .variable(variable)
        } else {
            return nil
        }
    }

    /// Returns the failure for an invalid value: wrong usage for an option, wrong configuration for a variable.
    func failure(_ reason: String) -> Failure {
        switch origin {
        case .option(let name): .usage("\(name): \(reason)")
        case .variable(let name): .configuration("\(name) in the environment: \(reason)")
        }
    }
}
