// The page of --serve: empty until the browser fills it with the events of a conversation.
import { CONVERSING } from "./converse-in-browser.ts";
import { LOOK } from "./look.ts";
import { allowed, scriptOf } from "./script-of.ts";

export function livePage(): { html: string; policy: string } {
  const pageScript = scriptOf(CONVERSING);
  const policy =
    "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; " +
    `frame-ancestors 'none'; style-src ${allowed(LOOK)}; script-src ${allowed(pageScript)}`;
  const html = [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>zz</title><style>${LOOK}</style></head>`,
    '<body><header class="top"><h1>zz</h1>',
    '<form class="tools"><label>Conversation <select id="chats"></select></label>',
    '<button type="button" id="new">New</button>',
    '<label>Model <select id="models"></select></label>',
    '<button type="button" id="sides" aria-pressed="false">Side by side</button></form></header>',
    '<main id="talk" aria-live="polite" aria-label="Conversation"></main>',
    '<form id="say"><label for="words">Your message</label>',
    '<textarea id="words" rows="3" autofocus></textarea>',
    '<div class="tools"><button id="send">Send</button>',
    '<button type="button" id="stop" disabled>Stop</button>',
    '<label>Files, 20 MB at most <input type="file" id="files" multiple></label>',
    '<output id="state" aria-live="polite"></output></div></form>',
    `<script>${pageScript}</script></body></html>`,
  ].join("\n");
  return { html, policy };
}
