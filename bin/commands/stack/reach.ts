/** Sends a request. @throws Error that names an address that cannot be reached */
export async function reach(url: string, init?: RequestInit): Promise<Response> {
  return fetch(url, init).catch((thrown: Error) => {
    throw new Error(`${url} cannot be reached`, { cause: thrown })
  })
}
