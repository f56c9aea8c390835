/// What an operator's command prints, as lines for a reader or as JSON.
package protocol Report: Encodable {
    /// The lines that the command prints without `--json`.
    var lines: [String] { get }
    /// The reason why the command fails although it has a result, or nil if it succeeds.
    var failure: Failure? { get }
}

extension Report {
    package var failure: Failure? { nil }
}
