/** Default deadline of a call, in seconds. */
export const DEADLINE_SECONDS = 30

/** Returns the deadline for calls of an endpoint, in seconds. */
export const deadlineOf = ({
  deadlineSeconds = DEADLINE_SECONDS,
}: {
  readonly deadlineSeconds?: number | undefined
}): number => deadlineSeconds
