/// What an owner has registered before the registration that a rule is about.
enum RegistrationHistory: String, CaseIterable, Sendable {
    /// Nothing.
    case first
    /// The same installation, with everything different.
    case replaced
    /// The same installation, with everything different, and unregistered since.
    case returned
    /// Another installation, which stays registered.
    case second

    /// The words that start a finding's sentence and say after which history it was made.
    var preface: String {
        switch self {
        case .first: ""
        case .replaced: "after a re-registration: "
        case .returned: "after an unregistration and a return: "
        case .second: "next to another installation: "
        }
    }
}
