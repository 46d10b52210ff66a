// The tools that the conformance suite asks a server for, as far as zz's tools give what it wants.
import type { Zz } from "zz";

const DOT =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

export default (zz: Zz) => {
  const tool = (name: string, run: () => any) =>
    zz.tool({ name, description: name, params: {}, kind: "read", run });
  tool("test_simple_text", () => "This is a simple text response for testing.");
  tool("test_image_content", () => ({ text: "", images: [{ type: "image/png", base64: DOT }] }));
  tool("test_audio_content", () => ({
    text: "",
    images: [{ type: "audio/wav", base64: SILENCE }],
  }));
  tool("test_error_handling", () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
};
