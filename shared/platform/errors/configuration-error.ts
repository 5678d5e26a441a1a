/** A mistake of the operator. Its message is logged: it says what to correct and quotes neither input nor secrets. */
export class ConfigurationError extends Error {
  override name = 'ConfigurationError'
}
