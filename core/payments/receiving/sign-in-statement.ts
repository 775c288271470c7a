import { decimal, type Micros, usd } from '../../money.ts'

const STATEMENT =
  /^Spend up to (\d{1,12}\.\d{6}) USD of the credits of this wallet on one request\.$/

/** Statement of a challenge: the maximum that a person sees when signing, in dollars. */
export const statementOf = (maximum: bigint): string =>
  `Spend up to ${decimal(maximum)} USD of the credits of this wallet on one request.`

/** Returns the maximum of a statement, in microdollars; undefined for any other text. */
export function maximumOf(statement: string | undefined): Micros | undefined {
  const [, maximum] = STATEMENT.exec(statement ?? '') ?? []
  return maximum === undefined ? undefined : usd(maximum)
}
