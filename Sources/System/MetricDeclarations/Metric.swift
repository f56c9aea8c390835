/// A metric's declaration: all that operators and dashboards know about it.
///
/// A module declares its metrics next to their use and makes their handles once, never per event. The process's backend prints only the
/// metrics that it was given, because only a declaration has a help text and closed label values.
package struct Metric: Sendable {
    package enum Kind: Sendable, Equatable {
        case counter
        case gauge
        /// - `bounds`: The upper bounds of the buckets, ascending.
        case histogram(bounds: [Double])
    }

    /// What a value describes. If several servers share a database, each exposes what describes the whole database.
    package enum Scope: Sendable {
        case server
        case database
    }

    package let name: String
    package let kind: Kind
    package let scope: Scope
    /// One sentence for operators: a noun phrase with a full stop.
    package let meaning: String
    /// The labels whose values come from the settings or the build, such as a route's name.
    package let configuredLabels: [String]
    /// The labels whose values are a closed set.
    package let closedLabels: [String]
    /// The closed labels' values, with a row for each combination that can occur. A metric without closed labels has a single empty row.
    package let combinations: [[String]]

    /// - Parameters:
    ///   - name: The full name in snake_case, with its unit and, for a counter, `_total`.
    ///   - labels: The closed labels. Nil means none.
    ///   - configuredLabels: The labels whose values come from the settings or the build.
    package init(
        _ kind: Kind, _ name: String, by labels: (any MetricLabels.Type)? = nil, configuredLabels: [String] = [],
        scope: Scope = .server, help: String
    ) {
        self.kind = kind
        self.name = name
        self.scope = scope
        meaning = help
        self.configuredLabels = configuredLabels
        closedLabels = labels?.labelNames ?? []
        combinations = labels.map { Self.combinations(of: $0) } ?? [[]]
    }

    /// The text for a scraper, which also says whether the values of several servers may be added up.
    package var help: String { scope == .database ? "\(meaning) (whole database)" : meaning }

    private static func combinations<Labels: MetricLabels>(of labels: Labels.Type) -> [[String]] { Labels.allCases.map(\.labelValues) }
}

/// A metric's closed labels. Each case is a combination of values that can occur, and no peer's text becomes a value.
package protocol MetricLabels: CaseIterable, Hashable, Sendable {
    static var labelNames: [String] { get }
    /// The values in snake_case, in the order of ``labelNames``.
    var labelValues: [String] { get }
}

extension MetricLabels where Self: RawRepresentable<String> {
    package var labelValues: [String] { [rawValue] }
}
