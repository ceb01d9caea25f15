// Browsers start no worker for a page that was opened from disk. There, the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      (document.body || document.documentElement).append(frame);
      const inner = frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      script.src = url;
      script.onload = () => {
        this.deliver = (data) => inner.dispatchEvent(new inner.MessageEvent("message", { data }));
        this.waiting.forEach(this.deliver);
      };
      inner.document.body.append(script);
    }
    postMessage(data) {
      this.deliver ? this.deliver(data) : this.waiting.push(data);
    }
  };
  window.Worker = window.IFrameWorker;
}
