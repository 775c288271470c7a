/** Error of the table: status, title, advice, and true if a repeated request may succeed. */
export type FaultRow = readonly [status: number, title: string, advice: string, retryable?: boolean]
