import type { FileStore } from '#shared/platform/formats/file-store.ts'

export interface MemoryFiles extends FileStore {
  files: Map<string, { bytes: Buffer; mediaType: string }>
}

/** Stores files in memory, for the endpoints. The S3 adapter has its own tests. */
export function memoryFiles(): MemoryFiles {
  const files: MemoryFiles['files'] = new Map()
  let links = 0
  return {
    files,
    async write(key, chunks, mediaType) {
      const bytes: Uint8Array[] = []
      for await (const chunk of chunks) bytes.push(chunk)
      files.set(key, { bytes: Buffer.concat(bytes), mediaType })
    },
    async *read(key, range) {
      const bytes = files.get(key)?.bytes
      if (!bytes) throw new Error(`there is no ${key}`)
      const asked = range ? bytes.subarray(range.from, range.to) : bytes
      // In chunks with arbitrary boundaries, as from a network.
      for (let at = 0; at < asked.length; at += 65_521) yield asked.subarray(at, at + 65_521)
    },
    async link(key, { fileName, seconds }) {
      if (!files.has(key)) throw new Error(`there is no ${key}`)
      links += 1
      return `https://files.example/${key}?name=${fileName}&seconds=${seconds}&signature=${links}`
    },
  }
}
