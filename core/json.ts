/** A JSON object: neither null nor an array. */
export type JsonObject = Readonly<Record<string, unknown>>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a member that is an object, or an empty object. */
export const objectMember = (value: JsonObject | undefined, name: string): JsonObject => {
  const member = value?.[name]
  return isJsonObject(member) ? member : {}
}
