/** Returns the error of a rejected promise; throws if it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('expected a rejection')
}

export const rejectionMessage = async (promise: Promise<unknown>): Promise<string> =>
  (await rejection(promise)).message
