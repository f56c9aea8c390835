/// The declaration of a metric: all that operators and dashboards know about it.
///
/// A module declares its metrics next to their use and makes their handles once, never per event. The backend of the process prints the
/// metrics that it was given and no others, because only a declaration has a help text and closed label values.
package struct Metric: Sendable {
    package enum Kind: Sendable, Equatable {
        case counter
        case gauge
        /// - `bounds`: The upper bounds of the buckets, ascending.
        case histogram(bounds: [Double])
    }

    /// What a value describes. Of several servers on one database, each exposes what is of the whole database.
    package enum Scope: Sendable {
        case server
        case database
    }

    package let name: String
    package let kind: Kind
    package let scope: Scope
    /// One sentence for operators: a noun phrase with a full stop.
    package let meaning: String
    /// The labels whose values come from the settings or the build, such as the name of a route.
    package let configuredLabels: [String]
    /// The labels whose values are a closed set.
    package let closedLabels: [String]
    /// The values of the closed labels, one row for each combination that can occur. A metric without closed labels has one empty row.
    package let combinations: [[String]]

    /// - Parameters:
    ///   - name: The full name in snake_case, with its unit and, for a counter, `_total`.
    ///   - labels: The closed labels; nil means none.
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

/// The closed labels of a metric. Each case is a combination of values that can occur; no text of a peer becomes a value.
package protocol MetricLabels: CaseIterable, Hashable, Sendable {
    static var labelNames: [String] { get }
    /// The values in snake_case, in the order of ``labelNames``.
    var labelValues: [String] { get }
}

extension MetricLabels where Self: RawRepresentable<String> {
    package var labelValues: [String] { [rawValue] }
}
