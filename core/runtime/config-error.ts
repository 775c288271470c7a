/** A configuration that cannot work; the message names every variable and what it lacks. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
