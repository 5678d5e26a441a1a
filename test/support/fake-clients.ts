/** The responses of operations by their input, named as AWS names them. One may throw an `awsError`. */
// biome-ignore lint/suspicious/noExplicitAny: each operation has another input
export type Operations = Record<string, (input: any) => unknown>

interface Command {
  input: object
  constructor: { name: string }
}

/** Lets these operations answer all commands of clients of AWS, in this process. */
export function answering(operations: Operations): <Client extends object>(client: Client) => Client {
  const send = async ({ input, constructor: { name } }: Command) => {
    const operation = operations[name.replace(/Command$/, '')]
    if (!operation) throw new Error(`nothing answers ${name}`)
    return operation(input) ?? {}
  }
  return (client) => Object.assign(client, { send })
}

/** Returns an error as clients of AWS throw it. */
export function awsError(name: string, message = name): Error {
  return Object.assign(new Error(message), { name })
}
